extension AdvertisingData {
    /// The URI, its scheme written out: `https://example.org`.
    ///
    /// `nil` where the advertisement has none, where its scheme's code was never assigned and where it is no UTF-8;
    /// the octets are then still there under ``ADType/uri``.
    public var uri: String? {
        guard let octets = first(.uri, atLeast: 1), let text = String(validating: octets, as: UTF8.self),
            let code = text.unicodeScalars.first, let scheme = URIScheme.text(code.value)
        else { return nil }
        return scheme + String(text.unicodeScalars.dropFirst())
    }
}
