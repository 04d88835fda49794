"""The native doors: gRPC in two ways, and what they share.

`entry` decides who may pass, `ends` in what words a call ends, `observed` what is counted, `health`
answers load balancers, `tls` holds the certificate. A door itself only moves messages.
"""
