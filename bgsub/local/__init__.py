"""Masks from local models: a few recurring colours per pixel, learnt where the scene is clean.

A sample of the film is sorted into states of the scene (`states`), each frame put into the light of
its state (`light`). TRPCA of rank 0 in small overlapping tiles says which frames are clean where
(`clean_frames`). The values of each pixel are clustered into layers (`layers`), of which those are
background that clean frames show often enough (`scene`); places that show a whole range of levels
get that range (`turbulence`) as far as they show its colours throughout the film (`palette`). Who
arrived, left, or was put down decides the rest (`changes`, `objects`, `filling`), which `decisions`
and `history` put into words. A frame is then compared with the layers (`scoring`), in units of the
noise; neighbours vote and specks go (`cleanup`), and so does what is the background in shadow
(`shadows`); outlines move to where the edges are (`outlines`).

The constants were chosen on seven sequences with their truth (CDnet, SBI, Wallflower) and looked at
on synthetic scenes of other kinds, so figures for those seven are optimistic; none was held out.
"""
