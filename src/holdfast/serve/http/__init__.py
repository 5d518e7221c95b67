"""HTTP: listener, admission, authentication, REST."""
