extension AdvertisingData {
    /// The URI, its scheme written out: `https://example.org`.
    ///
    /// `nil` if the advertisement has none, if its scheme's code was never assigned, or if it is not UTF-8; the octets
    /// are still available under the type 0x24.
    public var uri: String? {
        guard let octets = first(.uri, atLeast: 1), let text = String(validating: octets, as: UTF8.self),
            let code = text.unicodeScalars.first, let scheme = URIScheme.text(code.value)
        else { return nil }
        return scheme + String(text.unicodeScalars.dropFirst())
    }
}
