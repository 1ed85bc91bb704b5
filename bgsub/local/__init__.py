"""Masks from local models: a few recurring colours per pixel, learnt where the scene is clean.

A sample of the film is sorted into states of the scene (`states`), each frame put into the light of
its state (`light`). TRPCA of rank 0 in small overlapping tiles says which frames are clean where
(`clean_frames`). The values of each pixel are clustered into layers (`layers`), of which those are
background that clean frames show often enough (`scene`); places that show a whole range of levels
get that range (`turbulence`) as far as they show its colours throughout the film (`palette`). Who
arrived, left, or was put down decides the rest (`changes`, `presence`, `objects`, `filling`), which
`decisions` and `history` put into words. A frame is then compared with the layers (`evidence`; a
large one at half size, `glancing`), in units of the noise of the place or of the film's contrast
(`noise`, `scoring`); neighbours vote and specks go (`cleanup`), and so does what is the background
in shadow (`shadows`); outlines move to where the edges are (`outlines`).

All numbers that decide are fields of `params.LocalParams`, with unit, range and reason.
``benchmarks/held_out.py`` measures how much of the quality is their choice.
"""
