// Browsers start no worker from a file. Where a page was opened from a folder, a hidden frame stands in for one.
(() => {
  if (location.protocol !== "file:") return;
  const START = `<script>
    importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = url; script.onload = done; script.onerror = failed;
      document.body.appendChild(script);
    })), Promise.resolve());
    postMessage = (data) => parent.postMessage(data, "*");
  </script>`;

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.ready = new Promise((begin) => {
        const frame = (this.frame = document.createElement("iframe"));
        frame.hidden = true;
        document.body.appendChild(frame);
        const inside = frame.contentWindow.document;
        inside.open();
        inside.write(`<!doctype html><html><body>${START}<script src="${url}"></script></body></html>`);
        inside.close();
        frame.contentWindow.addEventListener("load", begin);
      });
      window.addEventListener("message", (event) => {
        if (event.source === this.frame.contentWindow) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        }
      });
    }

    postMessage(data) {
      const target = this.frame.contentWindow;
      this.ready.then(() => target.dispatchEvent(new MessageEvent("message", { data, source: window })));
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker;
})();
