// What the page asks of the server.
"use strict";
let token = localStorage.getItem("backalley session");

async function ask(path, body, signal) {
  if (!token) await begin();
  const send = () => fetch(path, {
    method: body === undefined ? "GET" : "POST", body: body === undefined ? undefined : JSON.stringify(body), signal,
    headers: { Authorization: `Bearer ${token}` },
  });
  let answer = await send();
  if (answer.status === 401) { await begin(); answer = await send(); }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function begin() {
  token = (await (await fetch("/api/session", { method: "POST", body: "{}" })).json()).token;
  localStorage.setItem("backalley session", token);
}
