-- One partition a month, made before a publish needs it: making one locks the whole table.
do $$
declare
    month date;
begin
    foreach month in array array[date_trunc('month', now() at time zone 'UTC')::date,
                                 (date_trunc('month', now() at time zone 'UTC') + interval '1 month')::date]
    loop
        if to_regclass(format('memory.change_%s', to_char(month, 'YYYY_MM'))) is null then
            perform pg_advisory_xact_lock(1869766148, 0);
            execute format(
                'create table if not exists memory.change_%s partition of memory.change for values from (%L) to (%L)',
                to_char(month, 'YYYY_MM'), month::timestamp at time zone 'UTC',
                (month + interval '1 month')::timestamp at time zone 'UTC');
        end if;
    end loop;
end $$
