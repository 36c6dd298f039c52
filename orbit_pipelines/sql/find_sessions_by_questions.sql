-- For each session of a file the stored ones that share the most of its questions; a few, however many there are.
select number, session_id
  from (select asked.number, known.session_id,
               row_number() over (partition by asked.number, known.is_forgotten
                                  order by count(*) desc, known.session_id) as rank
          from unnest(%(numbers)s::int[], %(digests)s::bytea[]) as asked (number, digest)
          join known_question as known using (digest)
         group by asked.number, known.session_id, known.is_forgotten) as ranked
 where rank <= 8
 order by number, session_id
