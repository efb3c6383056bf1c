import Glibc

/// The kind of a broker's addresses.
///
/// libmosquitto waits for no answer while it connects, so it never comes to a name's second address: where `localhost`
/// has ::1 as its first address, it doesn't reach a broker that listens at 127.0.0.1 only; nor, by a name with addresses
/// of both kinds, one whose IPv6 packets are lost on the way. Each attempt after a failed one is therefore of the other
/// kind. Source: libmosquitto, `net__try_connect_tcp`.
enum AddressKind: String {
    // The local address that only a socket of this kind can have: libmosquitto passes over the broker's others.
    case version4 = "0.0.0.0"
    case version6 = "::"

    /// Which local address an attempt has; `nil`: whichever libmosquitto's choice of the broker's address needs.
    ///
    /// - Parameters:
    ///   - kinds: those of the broker's addresses, as ``kinds(of:isUsable:)`` finds them.
    ///   - failures: how many attempts have failed so far.
    static func localAddress(after failures: Int, _ kinds: () -> [AddressKind]) -> String? {
        guard !failures.isMultiple(of: 2) else { return nil }
        let kinds = kinds()
        return kinds.count > 1 ? kinds[1].rawValue : nil
    }

    /// The kinds of the addresses that a name has, that of the first one first; none if it can't be looked up. It
    /// blocks for as long as that takes.
    ///
    /// - Parameter isUsable: whether an address can be used. One without a route, as where there is no IPv6, would only
    ///   cost attempts.
    static func kinds(
        of host: String,
        isUsable: (addrinfo) -> Bool = AddressKind.hasRoute(to:)
    ) -> [AddressKind] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0, let first = found else { return [] }
        defer { freeaddrinfo(found) }
        var kinds: [AddressKind] = []
        for address in sequence(first: first, next: { $0.pointee.ai_next }) {
            let kind: AddressKind
            switch address.pointee.ai_family {
            case AF_INET: kind = .version4
            case AF_INET6: kind = .version6
            default: continue
            }
            if !kinds.contains(kind), isUsable(address.pointee) { kinds.append(kind) }
        }
        return kinds
    }

    /// Whether this machine knows a way to an address. Nothing is sent.
    static func hasRoute(to address: addrinfo) -> Bool {
        let probe = socket(address.ai_family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { return false }
        defer { close(probe) }
        return connect(probe, address.ai_addr, address.ai_addrlen) == 0
    }
}
