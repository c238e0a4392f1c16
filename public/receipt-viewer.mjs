// <receipt-viewer src name size lang messages>: shows one PDF receipt with pdf.js.
//
// Purpose: pages, zoom, rotation, text selection and search; says honestly whether the receipt is really to be seen.
// Invariants: an old receipt is gone before a new one is asked for; `receipt-shown` fires only when ink is on page 1;
// everything else ends in `receipt-failed` with a reason, at the latest after WATCHDOG_MS.
// Never: texts of its own (they come as JSON in `messages`), inline styles in markup, scripts inside PDFs, outgoing links.
//
// Events: `receipt-shown` {pages, ms} · `receipt-failed` {reason}: missing, unavailable, broken, password, network,
// blank, timeout. A late `receipt-shown` may follow a `timeout`.

const BASE = "/pdfjs/6.5.438";
const STYLESHEET = "/receipt-viewer.css";
const WATCHDOG_MS = 10_000;
/** Bytes above which only the pages looked at are fetched. */
const BIG_FILE_BYTES = 4 * 1024 * 1024;
/** Side of the square that a page is scaled down to for the ink test, in pixels. */
const INK_SAMPLE_PX = 160;
/** A channel below this counts as ink on white paper. */
const INK_LEVEL = 245;
const ZOOM_STEPS = ["page-width", "page-fit", "0.5", "0.75", "1", "1.25", "1.5", "2", "3"];

let engine;

/** pdf.js and one worker for all receipts of this page. */
function loadEngine() {
  engine ??= start().catch((error) => {
    engine = undefined;
    throw error;
  });
  return engine;
}

async function start() {
  const [pdfjs] = await Promise.all([import(`${BASE}/build/pdf.min.mjs`), loadStylesheet()]);
  pdfjs.GlobalWorkerOptions.workerSrc = `${BASE}/build/pdf.worker.min.mjs`;
  const ui = await import(`${BASE}/web/pdf_viewer.mjs`);
  return { pdfjs, ui, worker: new pdfjs.PDFWorker({ name: "receipts" }) };
}

/** A worker that chokes on one receipt must not hold up the next one. */
async function replaceWorker() {
  const current = await engine?.catch(() => undefined);
  if (!current) return;
  current.worker.destroy();
  current.worker = new current.pdfjs.PDFWorker({ name: "receipts" });
}

function loadStylesheet() {
  const known = document.querySelector(`link[href="${STYLESHEET}"]`);
  if (known) return Promise.resolve();
  const link = element("link", { rel: "stylesheet", href: STYLESHEET });
  const loaded = new Promise((resolve) => {
    link.addEventListener("load", resolve);
    // Without it the viewer is ugly, not blind.
    link.addEventListener("error", resolve);
  });
  document.head.append(link);
  return loaded;
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (place, name) => (name in values ? String(values[name]) : place));
}

/** pdf.js asks for translations of its own labels; ours are set where they are needed. */
function silentL10n(lang) {
  const nothing = async () => {};
  return {
    getLanguage: () => lang,
    getDirection: () => "ltr",
    get: async (ids, _args, fallback) => (Array.isArray(ids) ? ids.map(() => fallback ?? "") : (fallback ?? "")),
    translate: nothing,
    translateOnce: nothing,
    destroy: nothing,
    pause: () => {},
    resume: () => {},
  };
}

/** Whether anything but paper is on a rendered page. */
function hasInk(canvas) {
  if (!canvas || !canvas.width || !canvas.height) return false;
  const sample = element("canvas");
  sample.width = INK_SAMPLE_PX;
  sample.height = INK_SAMPLE_PX;
  const context = sample.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff";
  context.fillRect(0, 0, INK_SAMPLE_PX, INK_SAMPLE_PX);
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, 0, 0, INK_SAMPLE_PX, INK_SAMPLE_PX);
  const { data } = context.getImageData(0, 0, INK_SAMPLE_PX, INK_SAMPLE_PX);
  for (let i = 0; i < data.length; i += 4) {
    if (data[i] < INK_LEVEL || data[i + 1] < INK_LEVEL || data[i + 2] < INK_LEVEL) return true;
  }
  return false;
}

function reasonOf(error) {
  switch (error?.name) {
    case "PasswordException":
      return "password";
    case "InvalidPDFException":
    case "FormatError":
      return "broken";
    case "ResponseException":
    case "MissingPDFException":
    case "UnexpectedResponseException":
      if (error.missing || error.status === 404 || error.status === 410) return "missing";
      return error.status === 503 ? "unavailable" : "network";
    default:
      return error instanceof TypeError ? "network" : "broken";
  }
}

class ReceiptViewer extends HTMLElement {
  static observedAttributes = ["src"];

  #built = false;
  #run = 0;
  #texts = {};
  #parts = {};
  #task = null;
  #watchdog = 0;
  #startedAt = 0;
  #viewer = null;
  #links = null;
  #find = null;
  #bus = null;
  #observer = null;
  #width = 0;
  #query = "";

  connectedCallback() {
    this.#build();
    this.#open();
  }

  disconnectedCallback() {
    this.#run += 1;
    this.#close();
    if (this.getAttribute("data-reason") === "timeout") replaceWorker();
    this.#observer?.disconnect();
  }

  attributeChangedCallback(_name, before, after) {
    if (this.isConnected && this.#built && before !== after) this.#open();
  }

  #text(key, values = {}) {
    return fill(this.#texts[key] ?? "", values);
  }

  // ---- markup ------------------------------------------------------------------------------------------------------

  #build() {
    if (this.#built) {
      this.#observer?.observe(this.#parts.container);
      return;
    }
    this.#built = true;
    try {
      this.#texts = JSON.parse(this.getAttribute("messages") ?? "{}");
    } catch {
      this.#texts = {};
    }
    const pages = element("div", { class: "pdfViewer" });
    const label = this.#text("document", { name: this.getAttribute("name") ?? "" });
    const container = element("div", { class: "rv-container", tabindex: "0", role: "region", "aria-label": label }, pages);
    const cover = element("div", { class: "rv-cover", role: "status" });
    const note = element("p", { class: "rv-note", hidden: "" });
    const stage = element("div", { class: "rv-stage" }, container, cover);
    this.#parts = { ...this.#parts, pages, container, cover, note };
    this.append(this.#toolbar(), note, stage);
    this.#observer = new ResizeObserver(() => this.#refit());
    this.#observer.observe(container);
  }

  #button(key, sign, act) {
    const text = this.#text(key);
    const button = element("button", { type: "button", class: "icon-button", title: text, "aria-label": text }, sign);
    button.addEventListener("click", act);
    return button;
  }

  #toolbar() {
    const page = element("input", {
      class: "input rv-page", type: "text", inputmode: "numeric", value: "1", "aria-label": this.#text("page"),
    });
    page.addEventListener("change", () => this.#goTo(Number.parseInt(page.value, 10)));
    const count = element("span", { class: "rv-count" });
    const zoom = element("select", { class: "input rv-zoom", "aria-label": this.#text("zoom") });
    for (const step of ZOOM_STEPS) {
      const text = step === "page-width" ? this.#text("fitWidth")
        : step === "page-fit" ? this.#text("fitPage") : `${Math.round(Number(step) * 100)} %`;
      zoom.append(element("option", { value: step }, text));
    }
    zoom.append(element("option", { value: "custom", hidden: "" }));
    zoom.addEventListener("change", () => this.#scale(zoom.value));
    const original = element("a", {
      class: "icon-button rv-original", href: this.getAttribute("src"), target: "_blank", rel: "external noopener",
      title: this.#text("openOriginal"), "aria-label": this.#text("openOriginal"),
    }, "↗");
    this.#parts = { ...this.#parts, page, count, zoom, original };
    return element("div", { class: "rv-bar", role: "toolbar", "aria-label": this.#text("toolbar") },
      element("div", { class: "rv-group" },
        this.#button("previous", "‹", () => this.#goTo(this.#page() - 1)),
        page, count,
        this.#button("next", "›", () => this.#goTo(this.#page() + 1))),
      element("div", { class: "rv-group" },
        this.#button("zoomOut", "−", () => this.#viewer?.updateScale({ steps: -1 })),
        zoom,
        this.#button("zoomIn", "+", () => this.#viewer?.updateScale({ steps: 1 })),
        this.#button("rotate", "⟳", () => this.#rotate())),
      this.#searchGroup(),
      original);
  }

  #searchGroup() {
    const input = element("input", {
      class: "input rv-search", type: "search", autocomplete: "off",
      placeholder: this.#text("search"), "aria-label": this.#text("search"),
    });
    const hits = element("span", { class: "rv-hits", role: "status" });
    input.addEventListener("input", () => this.#search(input.value, "", false));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        this.#search(input.value, "again", event.shiftKey);
      } else if (event.key === "Escape" && input.value) {
        event.stopPropagation();
        input.value = "";
        this.#search("", "", false);
      }
    });
    this.#parts = { ...this.#parts, search: input, hits };
    return element("div", { class: "rv-group rv-find" }, input, hits,
      this.#button("searchPrevious", "↑", () => this.#search(input.value, "again", true)),
      this.#button("searchNext", "↓", () => this.#search(input.value, "again", false)));
  }

  // ---- opening and closing -----------------------------------------------------------------------------------------

  async #open() {
    const run = ++this.#run;
    const choked = this.getAttribute("data-reason") === "timeout";
    this.#close();
    const src = this.getAttribute("src");
    this.#parts.original.setAttribute("href", src ?? "");
    if (!src) return this.#fail("missing");
    this.#startedAt = performance.now();
    this.#state("loading");
    this.#cover(this.#text("loading"), false);
    this.#watchdog = setTimeout(() => run === this.#run && this.#fail("timeout"), WATCHDOG_MS);
    try {
      if (choked) await replaceWorker();
      const { pdfjs, ui, worker } = await loadEngine();
      if (run !== this.#run) return;
      this.#prepare(pdfjs, ui);
      const big = Number(this.getAttribute("size")) > BIG_FILE_BYTES;
      const task = pdfjs.getDocument({
        url: src, worker, disableAutoFetch: big, disableStream: big, disableWorkerRendering: true,
        cMapUrl: `${BASE}/cmaps/`, cMapPacked: true, standardFontDataUrl: `${BASE}/standard_fonts/`,
        wasmUrl: `${BASE}/wasm/`, iccUrl: `${BASE}/iccs/`,
      });
      this.#task = task;
      task.onPassword = () => {
        if (run === this.#run) this.#fail("password");
        task.destroy();
      };
      const pdf = await task.promise;
      if (run !== this.#run) return;
      if (pdf.numPages < 1) return this.#fail("broken");
      this.#links.setDocument(pdf, null);
      this.#viewer.setDocument(pdf);
      this.#find.setDocument(pdf);
      this.#parts.count.textContent = this.#text("of", { count: pdf.numPages });
      this.#noteForms(pdf, run);
    } catch (error) {
      if (run !== this.#run || this.getAttribute("data-state") === "failed") return;
      console.warn("receipt-viewer:", error?.name, error?.message);
      this.#fail(reasonOf(error));
    }
  }

  /** The old receipt goes first, so that it can never be taken for the new one. */
  #close() {
    clearTimeout(this.#watchdog);
    this.#viewer?.setDocument(null);
    this.#links?.setDocument(null, null);
    this.#find?.setDocument(null);
    this.#task?.destroy();
    this.#task = null;
    if (!this.#built) return;
    this.#parts.note.hidden = true;
    this.#parts.count.textContent = "";
    this.#parts.hits.textContent = "";
    this.#parts.page.value = "1";
  }

  #prepare(pdfjs, ui) {
    if (this.#viewer) return;
    const bus = new ui.EventBus();
    const links = new ui.PDFLinkService({ eventBus: bus, externalLinkTarget: ui.LinkTarget.BLANK });
    links.externalLinkEnabled = false;
    const find = new ui.PDFFindController({ eventBus: bus, linkService: links });
    const viewer = new ui.PDFViewer({
      container: this.#parts.container, viewer: this.#parts.pages, eventBus: bus, linkService: links,
      findController: find, textLayerMode: 1, annotationMode: pdfjs.AnnotationMode.ENABLE,
      annotationEditorMode: pdfjs.AnnotationEditorType.DISABLE, enableAutoLinking: false,
      imageResourcesPath: `${BASE}/web/images/`, l10n: silentL10n(this.getAttribute("lang") ?? "de"),
    });
    links.setViewer(viewer);
    this.#bus = bus;
    this.#links = links;
    this.#find = find;
    this.#viewer = viewer;
    bus.on("pagesinit", () => this.#scale("page-width"));
    bus.on("pagerendered", (event) => this.#rendered(event));
    bus.on("pagechanging", ({ pageNumber }) => {
      this.#parts.page.value = String(pageNumber);
    });
    bus.on("scalechanging", ({ scale, presetValue }) => this.#showScale(scale, presetValue));
    bus.on("updatefindmatchescount", ({ matchesCount }) => this.#showHits(matchesCount));
    bus.on("updatefindcontrolstate", ({ state, matchesCount }) => {
      if (state === ui.FindState.NOT_FOUND) this.#parts.hits.textContent = this.#text("searchNone");
      else this.#showHits(matchesCount);
    });
  }

  #rendered({ pageNumber, error, source, isDetailView }) {
    if (isDetailView) return;
    const div = source?.div;
    div?.setAttribute("aria-label", this.#text("pageLabel", { page: pageNumber }));
    if (pageNumber !== 1 || this.getAttribute("data-state") === "shown") return;
    if (error) return this.#fail("broken");
    if (!hasInk(div?.querySelector("canvas"))) return this.#fail("blank");
    clearTimeout(this.#watchdog);
    this.#cover("", false);
    this.#state("shown");
    const ms = Math.round(performance.now() - this.#startedAt);
    this.#tell("receipt-shown", { pages: this.#viewer.pagesCount, ms });
  }

  async #noteForms(pdf, run) {
    try {
      const { info } = await pdf.getMetadata();
      if (run !== this.#run || !info?.IsAcroFormPresent) return;
      this.#parts.note.textContent = this.#text("acroForm");
      this.#parts.note.hidden = false;
    } catch {
      // Broken metadata says nothing about the pages.
    }
  }

  #fail(reason) {
    clearTimeout(this.#watchdog);
    // A receipt that is merely slow may still appear; any other must not linger. A blank one stays to be seen.
    if (reason !== "timeout" && reason !== "blank") this.#viewer?.setDocument(null);
    this.#cover(this.#text(reason), true);
    this.#state("failed", reason);
    this.#tell("receipt-failed", { reason });
  }

  #state(state, reason) {
    this.setAttribute("data-state", state);
    if (reason) this.setAttribute("data-reason", reason);
    else this.removeAttribute("data-reason");
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }

  #cover(text, failed) {
    const { cover } = this.#parts;
    cover.replaceChildren();
    cover.hidden = text === "";
    cover.classList.toggle("rv-failed", failed);
    if (text === "") return;
    cover.append(element("p", {}, text));
    if (!failed) return;
    const retry = element("button", { type: "button", class: "button" }, this.#text("retry"));
    retry.addEventListener("click", () => this.#open());
    const src = this.getAttribute("src");
    const original = element("a", { class: "button", href: src, target: "_blank", rel: "external noopener" },
      this.#text("openOriginal"));
    cover.append(element("p", { class: "button-row" }, retry, ...(src ? [original] : [])));
  }

  // ---- pages, zoom, search -----------------------------------------------------------------------------------------

  #page() {
    return this.#viewer?.currentPageNumber ?? 1;
  }

  #goTo(page) {
    const last = this.#viewer?.pagesCount ?? 0;
    if (last && Number.isInteger(page)) this.#viewer.currentPageNumber = Math.min(Math.max(page, 1), last);
    this.#parts.page.value = String(this.#page());
  }

  #scale(value) {
    if (this.#viewer?.pagesCount) this.#viewer.currentScaleValue = value;
  }

  #showScale(scale, preset) {
    const { zoom } = this.#parts;
    const known = ZOOM_STEPS.find((step) => step === preset || Math.abs(Number(step) - scale) < 0.005);
    const custom = zoom.lastElementChild;
    custom.textContent = `${Math.round(scale * 100)} %`;
    custom.hidden = Boolean(known);
    zoom.value = known ?? "custom";
  }

  /** Fits again only when our own width changed: fitting on page changes loops on mixed page sizes. */
  #refit() {
    const width = this.#parts.container.clientWidth;
    if (width === this.#width) return;
    this.#width = width;
    requestAnimationFrame(() => {
      const preset = this.#viewer?.currentScaleValue;
      if (preset === "page-width" || preset === "page-fit") this.#scale(preset);
    });
  }

  #rotate() {
    if (this.#viewer?.pagesCount) this.#viewer.pagesRotation = (this.#viewer.pagesRotation + 90) % 360;
  }

  #search(query, type, findPrevious) {
    if (!this.#bus) return;
    if (!query) {
      this.#query = "";
      this.#bus.dispatch("findbarclose", { source: this });
      this.#parts.hits.textContent = "";
      return;
    }
    const again = type === "again" && query === this.#query;
    this.#query = query;
    this.#bus.dispatch("find", {
      source: this, type: again ? "again" : "", query, findPrevious,
      caseSensitive: false, entireWord: false, highlightAll: true, matchDiacritics: false,
    });
  }

  #showHits(matches) {
    const { current = 0, total = 0 } = matches ?? {};
    this.#parts.hits.textContent = this.#query && total ? this.#text("searchHits", { current, total }) : "";
  }
}

if (!customElements.get("receipt-viewer")) customElements.define("receipt-viewer", ReceiptViewer);
