"""What the ledger and the collector share: a durable database, in a file or on a server."""
