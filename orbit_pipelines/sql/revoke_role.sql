-- A role of the database that this one is a copy of has no business here.
revoke all on all tables in schema orbitpilot, memory from {role};
revoke all on all routines in schema orbitpilot, memory from {role};
revoke all on schema orbitpilot, memory from {role};
revoke all on public.orbit_schema_version from {role};
