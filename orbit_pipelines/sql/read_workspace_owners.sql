-- Whose workspaces these are; a run of several processes may hold its build's lock in none of them for a moment.
select build.workspace, build.build_id,
       build.status = 'running'
       or (build.executor <> 'in_process' and build.seen_at > now() - interval '10 minutes')
  from memory.build as build
 where build.workspace = any(%(folders)s)
