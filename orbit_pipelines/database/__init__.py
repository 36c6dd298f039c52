"""The PostgreSQL side: the embedded server, connections, migrations."""
