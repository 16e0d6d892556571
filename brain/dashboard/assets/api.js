// The brain's answers. A failure is an Error whose message is for the reader.

async function call(path, options = {}, timeoutMs = 8000) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeoutMs);
  try {
    const response = await fetch(path, { ...options, signal: abort.signal });
    const body = await response.json();
    if (!response.ok) {
      const error = new Error(body.error || `HTTP ${response.status}`);
      error.answered = true;
      error.body = body;
      throw error;
    }
    return body;
  } finally {
    clearTimeout(timer);
  }
}

export const about = () => call("/api/about");

export function picture(topology) {
  return call(`/api/picture${topology ? `?topology=${encodeURIComponent(topology)}` : ""}`);
}

export function explain(topology, executor) {
  const query = new URLSearchParams({ topology, ...(executor ? { executor } : {}) });
  return call(`/api/explain?${query}`);
}

export function post(question, values, token) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  return call(`/api/${question}`, { method: "POST", headers, body: JSON.stringify(values) }, 150000);
}
