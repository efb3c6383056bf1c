import BLEProtocol
import BLERadio
import RadioContract
import Testing

@testable import BLELinux

/// The kernel's links keep the contract of all radios; here over sockets that need no adapter.
@Suite(.timeLimit(.minutes(1))) struct LinkContractTests {
    @Test(arguments: RadioClause.all(for: [.linking]))
    func `a link over a socket keeps it`(_ clause: RadioClause) async throws {
        let loop = try EventLoop(name: "contract")
        let (near, far) = try SocketPair.numbers()
        let central = PairRadio(socket: near, loop: loop)
        let peripheral = PairRadio(socket: far, loop: loop)
        try await clause.check(RadioStage(central: central, peripheral: peripheral, address: .example))
    }
}
