import Testing

@testable import Gateway

@Suite("Lanes of commands")
struct CommandLanesTests {
    private typealias Lanes = CommandLanes<Int>

    private let kitchen = Lanes.Lane(peripheral: "kitchen", isOfUpdates: false)
    private let shed = Lanes.Lane(peripheral: "shed", isOfUpdates: false)

    @Test("have one command at a time, in order, and none waits for another lane")
    func order() {
        var lanes = Lanes()
        #expect(lanes.admit(1, to: kitchen) == .runs)
        for number in 2...4 { #expect(lanes.admit(number, to: kitchen) == .waits) }
        #expect(lanes.admit(5, to: shed) == .runs)
        #expect(lanes.next(in: shed) == nil)
        for number in 2...4 { #expect(lanes.next(in: kitchen) == number) }
        #expect(lanes.next(in: kitchen) == nil)
        #expect(lanes.count == 0)
        #expect(lanes.admit(6, to: kitchen) == .runs)
    }

    @Test("of updates hold up nothing else, and no second update waits for the first")
    func updates() {
        var lanes = Lanes()
        let updates = Lanes.Lane(peripheral: "kitchen", isOfUpdates: true)
        #expect(lanes.admit(1, to: updates) == .runs)
        #expect(lanes.admit(2, to: updates) == .isRefused)
        #expect(lanes.admit(3, to: kitchen) == .runs)
        #expect(lanes.next(in: updates) == nil)
        #expect(lanes.admit(4, to: updates) == .runs)
        #expect(lanes.next(in: updates) == nil && lanes.next(in: kitchen) == nil)
        #expect(lanes.count == 0)
    }

    @Test("have a limit each, and one together")
    func limits() {
        var lanes = Lanes()
        for _ in 0...Lanes.maximumInLane { #expect(lanes.admit(0, to: kitchen) != .isRefused) }
        #expect(lanes.admit(0, to: kitchen) == .isRefused)
        #expect(lanes.admit(0, to: shed) == .runs)
        for number in 0..<(Lanes.maximum - Lanes.maximumInLane) {
            let lane = Lanes.Lane(peripheral: "p\(number)", isOfUpdates: false)
            #expect(lanes.admit(0, to: lane) == .runs && lanes.admit(0, to: lane) == .waits)
        }
        #expect(lanes.admit(0, to: shed) == .isRefused)
        #expect(lanes.next(in: kitchen) == 0)
        #expect(lanes.admit(0, to: shed) == .waits)
    }
}
