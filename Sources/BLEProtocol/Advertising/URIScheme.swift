/// The code points that abbreviate the beginning of a URI in an advertisement.
///
/// Source: Bluetooth Assigned Numbers, 2.7, URI Scheme Name String Mapping.
enum URIScheme {
    /// No scheme: the text is the whole URI.
    static let none: UInt32 = 0x01

    /// The beginning that a code point abbreviates, with its colon; `nil` for an unassigned code point.
    static func text(_ code: UInt32) -> String? {
        if code == none { return "" }
        guard code > none, code - 2 < names.count else { return nil }
        return names[Int(code - 2)] + ":"
    }

    /// The code point for a URI, and the number of characters that it replaces; the one for no scheme if none is
    /// assigned.
    static func code(for uri: String) -> (code: UInt32, length: Int) {
        guard let colon = uri.firstIndex(of: ":"), let place = names.firstIndex(of: uri[..<colon].lowercased()) else {
            return (none, 0)
        }
        return (UInt32(place) + 2, uri.distance(from: uri.startIndex, to: colon) + 1)
    }

    /// In the order of their code points, starting with 2.
    private static let names: [String] = """
        aaa aaas about acap acct cap cid coap coaps crid data dav dict dns file ftp geo go gopher h323 http \
        https iax icap im imap info ipp ipps iris iris.beep iris.xpc iris.xpcs iris.lwz jabber ldap mailto mid \
        msrp msrps mtqp mupdate news nfs ni nih nntp opaquelocktoken pop pres reload rtsp rtsps rtspu service \
        session shttp sieve sip sips sms snmp soap.beep soap.beeps stun stuns tag tel telnet tftp thismessage \
        tn3270 tip turn turns tv urn vemmi ws wss xcon xcon-userid xmlrpc.beep xmlrpc.beeps xmpp z39.50r z39.50s \
        acr adiumxtra afp afs aim apt attachment aw barion beshare bitcoin bolo callto chrome chrome-extension \
        com-eventbrite-attendee content cvs dlna-playsingle dlna-playcontainer dtn dvb ed2k facetime feed \
        feedready finger fish gg git gizmoproject gtalk ham hcp icon ipc irc irc6 ircs itms jar jms keyparc \
        lastfm ldaps magnet maps market message mms ms-help ms-settings-power msnim mumble mvn notes oid palm \
        paparazzi pkcs11 platform proxy psyc query res resource rmi rsync rtmfp rtmp secondlife sftp sgn skype \
        smb smtp soldat spotify ssh steam submit svn teamspeak teliaeid things udp unreal ut2004 ventrilo \
        view-source webcal wtai wyciwyg xfire xri ymsgr example ms-settings-cloudstorage
        """.split(separator: " ").map(String.init)
}
