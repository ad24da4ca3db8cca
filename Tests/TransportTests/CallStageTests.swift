import Testing

@testable import Transport

private let waiting = CallStage.Waiting(messages: [], last: true)

private let all: [CallStage] = [
  .receiving, .ready, .running, .starting(nil), .working(nil), .delivering(nil), .unheard, .answered,
]

/// The names of the stages before and after a transition, for those that it changes.
private func changes(_ transition: (inout CallStage) -> Void) -> [String: String] {
  var changed: [String: String] = [:]
  for stage in all {
    var after = stage
    transition(&after)
    if "\(after)" != "\(stage)" { changed[name(stage)] = name(after) }
  }
  return changed
}

private func name(_ stage: CallStage) -> String { String("\(stage)".prefix { $0 != "(" }) }

private func names(_ property: (CallStage) -> Bool) -> [String] { all.filter(property).map(name) }

@Test func `a unary call becomes ready, runs and is answered`() {
  #expect(changes { $0.completeRequest() } == ["receiving": "ready"])
  #expect(changes { $0.launch() } == ["ready": "running", "starting": "working"])
}

@Test func `a streaming call starts work, delivers its result and receives again`() {
  #expect(changes { $0.start() } == ["receiving": "starting"])
  #expect(changes { $0.deliver() } == ["working": "delivering"])
  #expect(changes { _ = $0.resume() } == ["delivering": "receiving"])
}

@Test func `input that waits is kept during the work, and returned once`() {
  var stage = CallStage.receiving
  stage.start()
  stage.keep(waiting)
  stage.launch()
  stage.deliver()
  let back = [stage.resume()?.last, stage.resume()?.last]
  #expect(back == [true, nil] && stage.isReceiving)
}

@Test func `input that waits survives work that follows work`() {
  var stage = CallStage.receiving
  stage.start(waiting)
  stage.launch()
  stage.deliver()
  let back = stage.resume()
  #expect(back?.last == true)
}

@Test func `only a paused call keeps input`() {
  #expect(
    changes { $0.keep(waiting) } == [
      "starting": "starting", "working": "working", "delivering": "delivering",
    ])
}

@Test func `a call whose client has gone is in the stage unheard while its task runs`() {
  #expect(changes { _ = $0.leave() } == ["running": "unheard", "working": "unheard"])
  for stage in all {
    var after = stage
    let isAwaited = after.leave()
    #expect(isAwaited == stage.hasTask)
  }
}

@Test func `every call can be settled`() {
  for stage in all {
    var after = stage
    after.settle()
    #expect(after.isAnswered)
  }
}

@Test func `each stage has the right properties`() {
  #expect(names(\.isOpen) == ["receiving", "starting", "working", "delivering"])
  #expect(names(\.isPaused) == ["starting", "working", "delivering"])
  #expect(names(\.hasTask) == ["running", "working", "unheard"])
  #expect(names(\.isReady) == ["ready"] && names(\.isUnheard) == ["unheard"])
  #expect(names(\.isStarting) == ["starting"] && names(\.isWorking) == ["working"])
  #expect(names(\.isDelivering) == ["delivering"] && names(\.isAnswered) == ["answered"])
}
