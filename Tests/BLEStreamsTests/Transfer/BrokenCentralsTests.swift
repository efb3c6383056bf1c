import Testing

@testable import BLEStreams

@Suite(.timeLimit(.minutes(10))) struct BrokenCentralsTests {
    private final class Visitor: Sendable {}

    @Test func `the first loss of each central counts`() {
        let (broken, one, other) = (BrokenCentrals(), Visitor(), Visitor())
        let first = [broken.isFirstLoss(of: one, 1), broken.isFirstLoss(of: other, 2)]
        let second = [broken.isFirstLoss(of: one, 1), broken.isFirstLoss(of: other, 2)]
        #expect(first == [true, true] && second == [false, false])
        withExtendedLifetime((one, other)) {}
    }

    @Test func `those that have left are forgotten, however many there were`() {
        let (broken, present) = (BrokenCentrals(), Visitor())
        #expect(broken.isFirstLoss(of: present, 0))
        for number in 1...1000 { #expect(broken.isFirstLoss(of: Visitor(), number)) }
        // The last one goes with the next one.
        #expect(broken.count <= 2)
        #expect(!broken.isFirstLoss(of: present, 0))
        withExtendedLifetime(present) {}
    }
}
