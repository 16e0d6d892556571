"""The dashboard: a small HTTP server in the brain, and a page without build steps or CDN."""
