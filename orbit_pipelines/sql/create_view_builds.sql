-- One row a finished build, whatever became of it.
create view builds as select * from mirrored_builds
