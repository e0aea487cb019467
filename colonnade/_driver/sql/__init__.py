"""The text of statements: quoting, named parameters, names of tables, COPY."""
