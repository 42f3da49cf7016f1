// Search on pages that were opened from disk. Browsers allow no web workers there, so this runs the
// search script in a hidden frame instead. Pages that a server sends use real workers.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.reduce((after, each) => after.then(() => load(inside, each)), Promise.resolve());
      this.ready = load(inside, url);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  const load = (inside, url) =>
    new Promise((done, failed) => {
      const script = inside.document.createElement("script");
      script.src = url;
      script.onload = done;
      script.onerror = () => failed(new Error(`cannot load ${url}`));
      inside.document.body.appendChild(script);
    });
}
