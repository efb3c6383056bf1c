#ifndef CBLUETOOTH_H
#define CBLUETOOTH_H

#if !__has_include(<bluetooth/bluetooth.h>)
#error "BLEStreams needs the headers of libbluetooth. On Debian: apt-get install libbluetooth-dev pkg-config"
#endif

// These headers do not include what they use: the order matters.
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <bluetooth/l2cap.h>

#endif
