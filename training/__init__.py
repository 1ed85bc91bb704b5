"""Train the mask network: a tool beside the package, which never imports it."""
