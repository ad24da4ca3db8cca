import Callers
import Store
import Testing

private let now = Timestamp(millis: 0)

private func table(_ names: [String], _ labels: CallerLabels) -> CallerTable {
  let callers = names.map { CallerSettings(name: $0, san: $0, methods: [], audiences: ["a"]) }
  return CallerTable(callers, unidentified: nil, paths: [], labels: labels)
}

@Test func `a caller keeps its label when the configuration is read again`() throws {
  let labels = CallerLabels()
  let before = try table(["web", "shop"], labels).identify(certificateName: "shop", authorization: [], now: now).label
  let after = try table(["new", "shop"], labels).identify(certificateName: "shop", authorization: [], now: now).label
  #expect(before == after && labels.all[before] == "shop")
  #expect(labels.all == ["anyone", "other", "web", "shop", "new"])
  #expect(labels.all[Caller.anyone.label] == "anyone")
}

@Test func `the sixty-fifth caller and all further ones share a label`() throws {
  let (labels, names) = (CallerLabels(), (1...66).map { "caller-\($0)" })
  let table = table(names, labels)
  func label(_ number: Int) throws -> String {
    labels.all[try table.identify(certificateName: "caller-\(number)", authorization: [], now: now).label]
  }
  #expect(try label(64) == "caller-64")
  #expect(try label(65) == "other" && label(66) == "other")
  #expect(labels.all.count == CallerLabels.count)
}

@Test func `a number of another table has the label of further callers`() {
  let labels = CallerLabels()
  #expect(labels.text(0) == "anyone" && labels.text(1) == "other")
  for number in [2, 64, -1, .max] { #expect(labels.text(number) == "other") }
}
