-- Which of some roles exist, whether this session may be each (act as it, and own what it owns without acting as it),
-- and who are its members. Before version 16 membership had no options.
select wanted.role_name,
       role.oid is not null as exists,
       case when role.oid is null then false
            when current_setting('server_version_num')::int < 160000
            then pg_has_role(role.oid, 'member') and pg_has_role(role.oid, 'usage')
            else pg_has_role(role.oid, 'set') and pg_has_role(role.oid, 'usage') end as is_held,
       array(select distinct member.rolname::text
               from pg_auth_members as membership
               join pg_roles as member on member.oid = membership.member
              where membership.roleid = role.oid and pg_has_role(member.oid, role.oid, 'usage')
              order by 1) as members
  from unnest(%(names)s::text[]) with ordinality as wanted (role_name, place)
  left join pg_roles as role on role.rolname = wanted.role_name
 order by wanted.place
