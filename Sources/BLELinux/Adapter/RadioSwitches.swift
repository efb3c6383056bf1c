/// The switches that block radios (rfkill), as sysfs shows them to every program.
///
/// Source: kernel, `Documentation/ABI/stable/sysfs-class-rfkill`.
enum RadioSwitches {
    /// What blocks an adapter.
    enum Block: Hashable {
        /// A program: `rfkill unblock` lifts it.
        case soft
        /// A switch or key on the machine.
        case hard
    }

    private static let folder = "/sys/class/rfkill"

    /// What blocks the adapter with this name; `nil` if nothing does, or the system has no such switches.
    static func block(of adapter: String, on kernel: Kernel) -> Block? {
        for entry in namesInFolder(folder, of: kernel) {
            guard textFile("\(folder)/\(entry)/name", of: kernel) == adapter else { continue }
            if textFile("\(folder)/\(entry)/hard", of: kernel) == "1" { return .hard }
            if textFile("\(folder)/\(entry)/soft", of: kernel) == "1" { return .soft }
        }
        return nil
    }
}
