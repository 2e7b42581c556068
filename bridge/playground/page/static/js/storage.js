// What this browser remembers for all windows.

/** Some browsers block storage. */
export function storage() {
  try {
    return localStorage;
  } catch (error) {
    if (error.name !== "SecurityError") throw error;
    return null;
  }
}
