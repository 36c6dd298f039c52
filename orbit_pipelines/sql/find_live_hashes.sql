-- Which of some hashes rows still have: equal texts have equal hashes, also those of other sessions and people.
select content_hash from memory.chunk where content_hash = any(%(hashes)s)
union
select content_hash from memory.embedding_cache where content_hash = any(%(hashes)s)
union
select content_hash from memory.change where content_hash = any(%(hashes)s)
