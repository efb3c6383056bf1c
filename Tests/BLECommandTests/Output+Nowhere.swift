import Glibc

@testable import ble

extension Output {
    /// It stays open.
    private static let null = Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)

    /// For results that a test doesn't look at.
    static var nowhere: Output { Output(isJSON: true, to: null) }
}
