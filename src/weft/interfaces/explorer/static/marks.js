// Marks of lines, needed or noise, which stay in this browser until they are saved or downloaded as a set.

const KEPT = "weft-marks";

export function readMarks() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "[]");
  } catch {
    return [];
  }
}

export const writeMarks = (marks) => localStorage.setItem(KEPT, JSON.stringify(marks));

const isSame = (mark, question, line) => mark.question === question && mark.line === line;

// The marks of one question: whether a line is needed, by its text.
export const marksOf = (question) => new Map(readMarks().filter((mark) => mark.question === question).map((mark) => [mark.line, mark.needed]));

// Mark a line, or take the same mark back; return what was done, in words.
export function toggleMark(question, line, needed) {
  const marks = readMarks();
  const before = marks.find((mark) => isSame(mark, question, line));
  const others = marks.filter((mark) => mark !== before);
  if (before?.needed === needed) {
    writeMarks(others);
    return "Mark taken back";
  }
  writeMarks([...others, { question, line, needed }]);
  return needed ? "Marked as needed" : "Marked as noise";
}

export const dropMark = (question, line) => writeMarks(readMarks().filter((mark) => !isSame(mark, question, line)));
