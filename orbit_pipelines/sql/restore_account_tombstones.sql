-- Accounts are here again under their names, and so are their tombstones.
select memory.restore_tombstones(%(users)s::text[], %(hashes)s::text[])
