"""How workers talk: values and records become bytes (`values`, `codec`, `frames`), peers prove who they are (`handshake`),
bytes move (`tcp`, `inproc`); who listens lets strangers in by `entrance`, for HTTP by `http_server`.

Knows nothing of components, groupings or ledgers; the runtime calls it and is called back with decoded messages.
"""
