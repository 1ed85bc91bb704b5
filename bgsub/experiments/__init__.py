"""The experiments of the TRPCA paper, done again; they give plain data, `bgsub.report` draws."""
