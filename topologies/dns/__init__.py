"""DNS traffic, message by message: parse, features of the flow, classify, store (PA-SPS, Figure 12)."""

if __name__ == "dns":
    raise ImportError("topologies/dns hides the library dns (dnspython): run from another directory, or with the command pasps")
else:
    from topologies.needed import need

    need("dns", dns="dnspython", numpy="numpy")
