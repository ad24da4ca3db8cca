/// A moment as people and programs read it: `2026-11-21T15:30:00.000Z`. Days are counted from 0000-03-01,
/// so that a leap day is the last of its year.
package func rfc3339(_ millis: Int64) -> String {
  let days = (millis >= 0 ? millis : millis - 86_399_999) / 86_400_000
  let shifted = days + 719_468
  let era = shifted / 146_097
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let shiftedMonth = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
  let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  let time = millis - days * 86_400_000
  func padded(_ number: Int64, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
  return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2) + "T" + padded(time / 3_600_000, 2) + ":"
    + padded(time / 60_000 % 60, 2) + ":" + padded(time / 1_000 % 60, 2) + "." + padded(time % 1_000, 3) + "Z"
}
