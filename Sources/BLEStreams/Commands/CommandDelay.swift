import BLEProtocol
import BLERadio

/// What keeps a command from its work. The words are made when a limit passes: noting this costs no memory.
enum CommandDelay: Sendable {
    /// The session isn't ready.
    case unready(Session)
    /// A command or another operation of the session has its turn.
    case inUse
    /// The link, which several may use, is somebody else's.
    case held
    /// There is no link to the peripheral.
    case unlinked(Peripheral)
    /// Another run of the flow still works on what the device has sent it.
    case behindOtherRun

    /// What the command waits for, in words.
    var wait: SessionPatience.Wait {
        switch self {
        case .unready(let session):
            var wait = session.whyNotReady
            wait.cause = "the session was not ready"
            return wait
        case .inUse:
            return SessionPatience.Wait(
                cause: "a command or another operation of the session did not end",
                remedy: "Let it end first, or allow more time."
            )
        case .held:
            return SessionPatience.Wait(
                cause: "another user of the link, who has exclusive use of it, did not release it",
                remedy: "Let that use end first, or allow more time."
            )
        case .unlinked(let peripheral):
            let radio = peripheral.core.radio
            let adapter = radio.adapterInfo
            let obstacle =
                adapter.state.error(operation: "connect", object: adapter.name)
                ?? peripheral.core.joined?.bondObstacle(to: peripheral.address) ?? radio.connectObstacle
            return SessionPatience.Wait(
                cause: "there was no link",
                why: obstacle?.cause,
                remedy: obstacle?.remedy ?? "Check that the peripheral is in range, or allow more time."
            )
        case .behindOtherRun:
            return SessionPatience.Wait(
                cause: "another run of the flow, in another queue, did not finish with what the device has sent it",
                remedy: "Check what keeps that run, such as a slow or full store; or allow more time."
            )
        }
    }
}
