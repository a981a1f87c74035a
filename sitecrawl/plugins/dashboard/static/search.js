// The page may send no forms (its Content-Security-Policy), so a search is an address of its own.
const form = document.querySelector("form");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  location.search = new URLSearchParams(new FormData(form)).toString();
});
