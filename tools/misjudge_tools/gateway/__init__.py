"""Model calls: one client for all roles, the simulated gateway and the local judge."""
