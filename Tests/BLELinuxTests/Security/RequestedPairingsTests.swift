import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// What the kernel pairs by itself, at a peripheral's request, when this program pairs with that, too.
@Suite(.timeLimit(.minutes(10))) struct RequestedPairingsTests {
    private let kernel: KernelDouble

    init() throws { kernel = try KernelDouble() }

    @Test(arguments: [true, false])
    func `the bond of one that is over before the kernel takes the command is told`(_ isKept: Bool) async throws {
        let outcomes = try await kernel.begunPairing()
        try kernel.tellKey(kind: 2, isKept: isKept)
        try kernel.answer(to: .pairDevice, .alreadyPaired, with: ManagementAddress(.example).octets)
        let bond = try #require(await outcomes.next()).get()
        #expect(bond?.peer == (isKept ? .example : nil))
    }
}
