"""The application's side: importing histories, the pair ledger, branches, flags."""
