import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// The kernel keeps the contract of all radios: two of its adapters that hear each other.
@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(10)))
struct KernelContractTests {
    private static let withoutLinks = RadioClause.all(for: [.scanning, .power])
    private static let withLinks = RadioClause.all(for: [.scanning, .power, .linking]).filter {
        $0.needs.contains(.linking)
    }

    private func stage() throws -> RadioStage {
        let pair = KernelLab.pair
        try #require(pair.count == 2)
        let central = pair[0].name
        return RadioStage(
            central: try LinuxRadio(adapter: central),
            peripheral: try LinuxRadio(adapter: pair[1].name),
            address: pair[1].address,
            power: { try await KernelLab.power($0, central) }
        )
    }

    @Test(arguments: withoutLinks)
    func `an adapter keeps it`(_ clause: RadioClause) async throws { try await clause.check(stage()) }

    // One kernel has both ends: whichever closes, the other one is closed after its end.
    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault), arguments: withLinks)
    func `a link keeps it`(_ clause: RadioClause) async throws { try await clause.check(stage()) }
}
