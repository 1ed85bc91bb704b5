"""Compare methods of robust PCA, and repeat the experiments of the TRPCA paper."""
