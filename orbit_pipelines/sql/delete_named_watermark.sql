-- How far builds followed an account that is gone.
delete from memory.watermark where scope = 'user:' || %(user)s
