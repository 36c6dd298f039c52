-- Whether memory has followed a change of names.
coalesce((select pg_visible_in_snapshot(former.changed_xid, watermark.snapshot)
            from memory.watermark as watermark
           where watermark.scope in ('user:' || former.former_user_id, 'bucket_000')
           order by watermark.scope = 'bucket_000'
           limit 1), true)
