-- The newest transaction that changed content, people or sessions, and whether there is anything to remember at all.
select greatest((select max(content_xid) from orbitpilot.message),
                (select max(content_xid) from orbitpilot.record),
                (select max(changed_xid) from orbitpilot.deletion),
                (select max(changed_xid) from orbitpilot.session),
                (select max(changed_xid) from orbitpilot.account),
                (select max(changed_xid) from memory.tombstone),
                (select max(changed_xid) from memory.admission_rule))::text,
       exists (select from orbitpilot.message) or exists (select from orbitpilot.record)
