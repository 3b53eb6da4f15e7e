"""HTTP and WebSocket surface: routes, access, the types that validate requests."""
