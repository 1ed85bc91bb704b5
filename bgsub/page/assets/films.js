"use strict";
// What the four views show: videos, of which each shows exactly the frame that is asked for, and
// stills where there is no video that a browser plays.

// How far into a picture it is sought, as a share of the shortest time that one is shown: its middle,
// or nearby if that gave another one.
const SEEK_SHARES = [0.5, 0.3, 0.7];
// Milliseconds to wait for word of the picture that a seek has brought; some browsers send none.
const PRESENTED_MS = 400;
// Seconds by which a playing video may be behind or ahead before it is put right by a jump.
const MOST_DRIFT_S = 0.25;

class Film {
  constructor(video, facts) {
    this.video = video;
    this.times = unpackIntegers(facts.stamps).map((stamp) => stamp * facts.base);
    this.places = facts.places ? unpackIntegers(facts.places) : null;
    this.shortest = facts.shortest * facts.base || 0.01; // seconds that every picture lasts
    this.origin = 0; // time of the first picture, as the browser counts
    this.shown = -1; // picture that is on the screen
    this.wanted = -1;
    this.chase = null;
    this.onpicture = null; // called with the place of each picture while it plays
    this.onend = null; // called with the place of the last picture when it has played to its end
    this.isPlaying = false;
    video.src = facts.src;
    this.ready = this.load();
  }

  // Wait for the first picture; its time tells where the browser begins to count.
  async load() {
    const { video } = this;
    const first = this.presented();
    if (video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) {
      await new Promise((resolve, reject) => {
        video.addEventListener("loadeddata", resolve, { once: true });
        video.addEventListener("error", () => reject(video.error), { once: true });
      });
    }
    const time = await first;
    if (time !== null) this.origin = time;
  }

  // Word of the next picture on the screen: its time, or null where the browser says nothing.
  presented() {
    const { video } = this;
    if (!video.requestVideoFrameCallback) return Promise.resolve(null);
    return new Promise((resolve) => {
      video.requestVideoFrameCallback((now, facts) => resolve(facts.mediaTime));
      setTimeout(() => resolve(null), PRESENTED_MS);
    });
  }

  // The picture for a place among the frames of the run: in an excerpt the nearest one.
  pictureFor(place) {
    if (!this.places) return Math.min(place, this.times.length - 1);
    const left = lastUpTo(this.places, place);
    const right = Math.min(left + 1, this.places.length - 1);
    return this.places[right] - place < place - this.places[left] ? right : left;
  }

  // The place that is shown for one that is asked for.
  nearest(place) {
    return this.placeOf(this.pictureFor(place));
  }

  placeOf(picture) {
    return this.places ? this.places[picture] : picture;
  }

  pictureAt(mediaTime) {
    return lastUpTo(this.times, mediaTime - this.origin + 0.0005);
  }

  // Show a place's picture. While a seek is on its way, only the latest wish is kept.
  show(place) {
    this.wanted = this.pictureFor(place);
    if (!this.chase) this.chase = this.run().finally(() => { this.chase = null; });
    return this.chase;
  }

  async run() {
    await this.ready;
    while (this.shown !== this.wanted) await this.seek(this.wanted);
  }

  async seek(picture) {
    const { video } = this;
    for (const share of SEEK_SHARES) {
      const done = new Promise((resolve) => {
        video.addEventListener("seeked", resolve, { once: true });
      });
      const word = this.presented();
      video.currentTime = this.origin + this.times[picture] + share * this.shortest;
      await done;
      const time = await word;
      if (time === null || this.pictureAt(time) === picture) break;
      if (this.wanted !== picture) break;
    }
    this.mark(picture);
  }

  mark(picture) {
    this.shown = picture;
    this.video.dataset.place = this.placeOf(picture);
  }

  play(speed) {
    this.isPlaying = true;
    this.video.playbackRate = speed;
    this.video.onended = () => { // a busy browser may have dropped the last picture, and the word of it
      this.mark(this.times.length - 1);
      if (this.onend) this.onend(this.placeOf(this.shown));
    };
    if (this.video.requestVideoFrameCallback) {
      const next = (now, facts) => {
        if (!this.isPlaying) return;
        this.mark(this.pictureAt(facts.mediaTime));
        if (this.onpicture) this.onpicture(this.placeOf(this.shown));
        this.video.requestVideoFrameCallback(next);
      };
      this.video.requestVideoFrameCallback(next);
    } else {
      this.video.ontimeupdate = () => {
        this.mark(this.pictureAt(this.video.currentTime));
        if (this.onpicture) this.onpicture(this.placeOf(this.shown));
      };
    }
    return this.video.play();
  }

  pause() {
    this.isPlaying = false;
    this.video.ontimeupdate = this.video.onended = null;
    this.video.pause();
    this.shown = -1; // a picture may still be on its way
  }

  // Keep in step with the film that leads, which is at a place and somewhat into its time.
  follow(place, into, speed) {
    const target = this.origin + this.times[this.pictureFor(place)] + into;
    const drift = this.video.currentTime - target;
    if (Math.abs(drift) > MOST_DRIFT_S) {
      this.video.currentTime = target;
    } else {
      this.video.playbackRate = speed * (1 - Math.max(-0.2, Math.min(0.2, drift)));
    }
  }
}

class Stills {
  constructor(image, facts) {
    this.image = image;
    this.facts = facts;
  }

  pictureFor(place) {
    const { places } = this.facts;
    const left = lastUpTo(places, place);
    const right = Math.min(left + 1, places.length - 1);
    return places[right] - place < place - places[left] ? right : left;
  }

  nearest(place) {
    return this.facts.places[this.pictureFor(place)];
  }

  show(place) {
    const picture = this.pictureFor(place);
    this.image.src = this.facts.pictures[picture];
    this.image.dataset.place = this.facts.places[picture];
    return Promise.resolve();
  }
}
