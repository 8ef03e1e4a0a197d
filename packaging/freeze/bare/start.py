"""The least window that Qt and pyqtgraph can show, frozen to measure the program's start against."""

import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow


def main() -> int:
    """Show a window with one curve, say READY when it is painted, end."""
    app = QApplication(sys.argv)
    import pyqtgraph

    window = QMainWindow()
    plot = pyqtgraph.PlotWidget()
    plot.plot(list(range(200)))
    window.setCentralWidget(plot)
    window.resize(1440, 900)
    window.show()

    def done() -> None:
        window.repaint()
        print("READY", 0, time.process_time(), flush=True)
        app.exit(0)

    QTimer.singleShot(0, lambda: QTimer.singleShot(0, done))
    return int(app.exec())


sys.exit(main())
