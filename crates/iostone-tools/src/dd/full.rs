//! What the C libraries say when a device is full, in the languages dd speaks.

/// ENOSPC's message in glibc's translations (36 of them, as printed by dd on Debian 12), in BSD's and in musl's words.
const MESSAGES: &[&str] = &[
    "No space left on device",
    "Няма месца на прыладзе",
    "Няма свободно място на устройството",
    "No resta espai al dispositiu",
    "Na zařízení není volné místo",
    "Ikke mere plads på enheden",
    "Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
    "Δεν έμεινε καθόλου χώρος στη συσκευή",
    "Ne haviĝas plu da spaco sur aparato",
    "No queda espacio en el dispositivo",
    "Laitteella ei ole tilaa jäljellä",
    "Aucun espace disponible sur le périphérique",
    "Non hai espacio libre no dispositivo",
    "Nema više prostora na uređaju",
    "Nincs több hely a lemezen",
    "Tidak ruang lagi diperangkat",
    "Spazio esaurito sul device",
    "デバイスに空き領域がありません",
    "장치에 남은 공간이 없음",
    "Įrenginyje neliko vietos",
    "Ikke mer plass på enheten",
    "Geen ruimte meer over op apparaat",
    "Brak miejsca na urządzeniu",
    "Não há espaço disponível no dispositivo",
    "Sem espaço livre no dispositivo",
    "На устройстве не осталось свободного места",
    "Na zariadení už nie je žiadne miesto",
    "Na napravi ni več prostora",
    "Није преостало простора на уређају",
    "Enheten är full",
    "Aygıt üzerinde boş yer yok",
    "Недостатньо місця на пристрої",
    "Không có đủ chỗ trống trên thiết bị",
    "设备上没有空间",
    "裝置上已無多餘空間",
];

/// Whether a line says that a device is full.
pub(super) fn says_so(line: &str) -> bool {
    line.contains(':') && MESSAGES.iter().any(|message| line.contains(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_in_any_language() {
        assert!(says_so("dd: error writing '/mnt/x': No space left on device"));
        assert!(says_so(
            "dd: Fehler beim Schreiben von 'x': Auf dem Gerät ist kein Speicherplatz mehr verfügbar"
        ));
        assert!(!says_so("dd: error writing '/mnt/x': Input/output error"));
    }
}
